"""Sample stories: a bundled role-play and a deterministic generator of long ones."""
