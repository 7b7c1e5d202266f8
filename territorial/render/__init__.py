"""Pictures, text and animations of games as arrays and files."""

from territorial.render.ansi import TextRenderer, color_depth, render_ansi
from territorial.render.board import owner_colors, player_colors, render_board
from territorial.render.games import (
    RENDER_FPS,
    RENDER_MODES,
    BatchRenderer,
    Screen,
    draw_game,
    make_renderer,
    render_game,
)
from territorial.render.picture_files import write_gif, write_png
from territorial.render.renderer import Renderer, beside, standings_panel

__all__ = [
    "RENDER_FPS",
    "RENDER_MODES",
    "BatchRenderer",
    "Renderer",
    "Screen",
    "TextRenderer",
    "beside",
    "color_depth",
    "draw_game",
    "make_renderer",
    "owner_colors",
    "player_colors",
    "render_ansi",
    "render_board",
    "render_game",
    "standings_panel",
    "write_gif",
    "write_png",
]
