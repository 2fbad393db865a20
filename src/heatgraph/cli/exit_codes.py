"""Exit codes of the command."""

FAILED = 1  # the input or a file cannot be used
WRONG_USE = 2  # the command line is wrong
NOT_CONVERGED = 3  # the model did not converge, and --strict was given
INTERNAL_ERROR = 70  # a bug in heatgraph
INTERRUPTED = 130  # SIGINT, such as Ctrl-C
CLOSED_PIPE = 141  # the reader of the output has closed it
TERMINATED = 143  # SIGTERM
