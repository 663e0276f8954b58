"""What all tests need of the process that they run in."""

import signal

# A shell that starts something in the background has it ignore Ctrl-C, and so would the tests' own processes.
signal.signal(signal.SIGINT, signal.default_int_handler)
