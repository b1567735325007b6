"""Trackers: where runs are reported to while they happen.

One file for each service, found by name, import path or entry point (`etude.trackers`). `report_to` in the settings
names them; `Trainer(..., sinks=[...])` takes them as objects.
"""

from etude.connect.run_folder import Ending, Point, TrackedRun
from etude.connect.tracker import Tracker, named_trackers, telling

__all__ = ["Ending", "Point", "TrackedRun", "Tracker", "named_trackers", "telling"]
