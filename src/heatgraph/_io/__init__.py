"""Files, memory and text formats that every layer may use; private."""
