"""Machine rooms: sites, types of devices, and the devices themselves."""
