"""Chats: exports of assistants, transcripts of coding agents, checkpoints."""
