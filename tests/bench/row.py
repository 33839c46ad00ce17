"""What a row of the benchmark is."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    unit: str
    what: str
    flowc: typing.Any  # a Contender, as are the peers
    peers: dict
    limit: typing.Callable  # of the calibration and all summaries, in the row's unit; None: there is none
    limit_is: str
    loss_tolerance: float = 0.0
    accuracy_needed: float = 0.0
    higher_is_better: bool = True
    limits: dict = dataclasses.field(default_factory=dict)  # Contenders that are no peers

    def contenders(self):
        return {"flowc": self.flowc, **self.peers, **self.limits}
