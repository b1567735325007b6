"""The stages of a training step: functions from records to records. Only the trainer knows their order."""
