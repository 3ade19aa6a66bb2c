"""Plans that compute in reduced precision, within the error that a user allows."""
