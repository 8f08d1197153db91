"""Published tables: which columns, in which order, under which row ids."""
