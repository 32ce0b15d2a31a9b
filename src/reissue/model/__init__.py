"""The nouns everybody shares: domains, boxes, releases, what outsiders observe, requirements, fragments."""
