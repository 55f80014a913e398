"""Renders templates as Hugging Face's libraries do: python3 oracle.py, with a list of {template, values} on its input."""
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


env = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
env.filters["tojson"] = tojson
env.globals["raise_exception"] = refuse
env.globals["strftime_now"] = lambda format: datetime.datetime.now().strftime(format)


def render(task):
    try:
        return env.from_string(task["template"]).render(**task["values"])
    except Exception:
        return "refused"


json.dump([render(task) for task in json.load(sys.stdin)], sys.stdout)
