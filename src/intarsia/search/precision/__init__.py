"""Plans that compute in less than fp32, within the error that a user allows."""
