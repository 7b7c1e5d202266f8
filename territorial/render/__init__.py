"""Pictures of boards and standings as arrays and PNG files; needs nothing but numpy."""

from territorial.render.palette import owner_colors, player_colors
from territorial.render.picture import beside, render_board, standings_panel, write_png

__all__ = [
    "beside",
    "owner_colors",
    "player_colors",
    "render_board",
    "standings_panel",
    "write_png",
]
