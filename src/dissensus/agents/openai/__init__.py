"""Any server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp's server, Ollama, hosted ones.

Start reading in :mod:`~dissensus.agents.openai.model`.
"""

from dissensus.agents.openai.model import OpenAI
from dissensus.agents.openai.options import OpenAIOptions

__all__ = ["OpenAI", "OpenAIOptions"]
