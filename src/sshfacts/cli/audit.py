"""`sshfacts audit`: what the record says, whether it is what was written, and what becomes of raw copies."""

import typer

from sshfacts.cli import audit_doctor, exporting, querying, raw_copies, replaying, sealing, telling, verifying

app = typer.Typer(help="Query, verify, seal and export the record of calls.", no_args_is_help=True)
app.command("list")(querying.list_)
app.command("show")(telling.show)
app.command("query")(querying.query)
app.command("export")(exporting.export)
app.command("verify")(verifying.verify)
app.command("doctor")(audit_doctor.doctor)
app.command("seal")(sealing.seal)
app.command("checkpoint")(sealing.checkpoint)
app.add_typer(sealing.keys_app, name="keys")
app.command("raw")(raw_copies.raw)
app.command("replay")(replaying.replay)
app.command("purge")(raw_copies.purge)
app.add_typer(raw_copies.keys_app, name="raw-keys")
