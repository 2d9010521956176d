"""Define the configuration of queues and limits, and predict the rotation of queues."""
