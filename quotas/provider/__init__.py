"""What a provider says about its own limit: in its headers, in its body, at its usage endpoint."""
