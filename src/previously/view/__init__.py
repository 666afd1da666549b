"""View building: which messages the model will see, each with its reason and its cost. Pure."""
