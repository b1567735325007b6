"""The environment `spreadsheet`: tasks of SpreadsheetBench."""
