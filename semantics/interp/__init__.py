"""Concrete interpreter of the core IR: runs launches on data and finds their faults."""

from semantics.interp.explore import Exploration, explore
from semantics.interp.run import Precision, Run, run
from semantics.interp.schedule import Schedule
from semantics.interp.values import ExactUnsupported

__all__ = ["ExactUnsupported", "Exploration", "Precision", "Run", "Schedule", "explore", "run"]
