"""Newton steps under cutting planes, for the largest score of a negative as threshold."""
