"""The artifact: its container, what is checked in it, who signed it, what loading it trusts, its export."""
