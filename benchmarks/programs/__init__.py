"""The mathematical programs measured side by side."""
