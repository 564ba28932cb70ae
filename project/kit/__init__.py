"""Small leaves that know no app."""
