"""What units make of a text: their lengths, what they cut, and how steady they are. Functions of where units end."""
