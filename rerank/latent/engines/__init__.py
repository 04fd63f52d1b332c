"""Who does the epochs: this process, or workers on Ray."""
