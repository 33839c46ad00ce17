"""JAX and Keras: what their settings may be."""

from peer import CORES, ENVIRONMENTS, Framework

JAX = Framework(
    name="JAX",
    package="jax",
    module="jax_steps",
    process=("environment", "cores"),
    first={"form": "epoch", "environment": "no trimming"},
    choices={"form": ["epoch", "step"], "cores": sorted({1, CORES}), "environment": list(ENVIRONMENTS)},
    as_installed={"form": "step", "cores": CORES, "environment": "as installed"},
)
KERAS = Framework(
    name="Keras",
    package="keras",
    module="keras_steps",
    process=("environment", "cores"),
    first={"form": "epoch", "environment": "no trimming"},
    choices={"XLA": [False, True], "cores": sorted({1, CORES}), "environment": list(ENVIRONMENTS)},
    as_installed={"form": "fit", "XLA": False, "cores": CORES, "environment": "as installed"},
)
