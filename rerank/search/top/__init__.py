"""What can be reached at the top of one list: rows that no weights put in order, and the bound that follows."""
