"""The roles that propose, attack and prove kernels: built-in ones and ones behind a language model."""
