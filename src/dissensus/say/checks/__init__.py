"""The static checks of protocols, one family a file; :func:`dissensus.say.protocol_checks.check` runs them all."""
