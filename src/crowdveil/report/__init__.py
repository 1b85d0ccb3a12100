"""What people look at: pictures, the public page, the steward's private page, and the bundle around them."""
