"""Quality of synthetic records and of releases. Figures computed from raw data are private."""
