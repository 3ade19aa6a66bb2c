"""What was measured, kept: the record of one measurement, the store, and files of records."""
