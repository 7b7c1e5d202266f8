"""Pictures, text and animations of games as arrays and files; needs no display."""

from territorial.render.ansi import TextRenderer, color_depth, render_ansi
from territorial.render.board import render_board
from territorial.render.games import (
    RENDER_FPS,
    RENDER_MODES,
    Drawer,
    Drawers,
    draw_game,
    make_drawer,
    render_game,
)
from territorial.render.palette import owner_colors, player_colors
from territorial.render.panel import beside, standings_panel
from territorial.render.png import write_png
from territorial.render.renderer import Renderer
from territorial.render.screen import Screen
from territorial.render.video import write_video

__all__ = [
    "RENDER_FPS",
    "RENDER_MODES",
    "Drawer",
    "Drawers",
    "Renderer",
    "Screen",
    "TextRenderer",
    "beside",
    "color_depth",
    "draw_game",
    "make_drawer",
    "owner_colors",
    "player_colors",
    "render_ansi",
    "render_board",
    "render_game",
    "standings_panel",
    "write_png",
    "write_video",
]
