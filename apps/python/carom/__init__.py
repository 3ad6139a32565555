"""Runs the program ``carom`` and reads its results.

    import carom

    results = carom.run("brick.json", set={"/integrator/step": 5e-4}, output="results/fine")
    height = results.probes["x.z"]

The package is pure Python over the program and its files. NumPy is needed only for arrays; pandas, meshio and pyvista
are used only by the methods that return their objects.
"""

from .errors import (
    CaromError,
    CommandError,
    ExpectationMissed,
    FileAccessError,
    Interrupted,
    MissingPackage,
    ModelError,
    NotConverged,
    Problem,
    ProgramNotFound,
    ResultsError,
)
from .frames import Frame, Frames
from .program import check, find_program, run
from .results import Results
from .sweep import Sweep

__all__ = [
    "CaromError",
    "CommandError",
    "ExpectationMissed",
    "FileAccessError",
    "Frame",
    "Frames",
    "Interrupted",
    "MissingPackage",
    "ModelError",
    "NotConverged",
    "Problem",
    "ProgramNotFound",
    "Results",
    "ResultsError",
    "Sweep",
    "check",
    "find_program",
    "run",
]
