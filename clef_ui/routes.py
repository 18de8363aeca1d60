"""Files that the page fetches from its own server only once they are needed."""

from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

CHARTS = "/clef/plotly.js"  # the ending lets Gradio's server compress it
A_DAY = "public, max-age=86400"


def page_routes() -> list[Route]:
    """Routes to be given to the server that serves the page."""
    return [Route(CHARTS, charts)]


def charts(_: Request) -> Response:
    """The script of Plotly as its Python package brings it; 404 with a sentence where the package is not installed."""
    package = find_spec("plotly")
    path = Path(package.origin).parent / "package_data" / "plotly.min.js" if package and package.origin else None
    if path is None or not path.is_file():
        return PlainTextResponse("Charts need the Python package plotly: pip install plotly.", status_code=404)
    return FileResponse(path, media_type="text/javascript", headers={"Cache-Control": A_DAY})
