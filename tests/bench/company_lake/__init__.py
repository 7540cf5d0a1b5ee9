"""A made-up company's lake: what its tables hold, how they are written, and the mess around them."""
