"""Front ends. Each goes through `remloom.memory.Memory`, and through nothing below it."""
