"""Reports for people: charts, the public page, the steward's private page, and the release bundle."""
