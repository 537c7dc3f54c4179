"""triton.tools in neso."""
