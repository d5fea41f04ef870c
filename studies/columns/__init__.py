"""Coverage of the CIs of the columns that papers print, one command for all of them.

``drawing`` draws items and says whether CIs hold. ``texts`` measures documents, ``aligned`` measures words and aligned
rows. ``__main__`` is the command.
"""
