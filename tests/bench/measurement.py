"""What a contender (flowc or a peer) of a row is, and what one measurement of it gives."""

import dataclasses

import disturbance


@dataclasses.dataclass(frozen=True)
class Measurement:
    value: float  # in the row's unit
    checks: dict  # losses and `accuracy` are judged; the rest is reported
    parts: dict = dataclasses.field(default_factory=dict)  # what the value is a mean of, each in the row's unit
    disturbed: disturbance.Disturbance = disturbance.Disturbance()


class Contender:
    """Measured once in each of the first `rounds` rounds."""

    rounds = 1000

    def prepare(self, session):
        """Builds, tunes; before the first round."""

    def wake(self, session):
        """Starts what has to run before measuring."""

    def measure(self, session):
        raise NotImplementedError

    def settings(self):
        """What was chosen, for the report."""
        return {}
