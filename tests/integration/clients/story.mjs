// What each client does; argv[2] says where the doors are and which calls to make, stdout gets what was seen.

export const input = JSON.parse(process.argv[2]);

export async function tell(client, transport, callTool) {
  await client.connect(transport);
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const results = [];
  for (const [name, args] of input.calls) {
    const result = await callTool({ name, arguments: args });
    results.push({
      isError: result.isError === true,
      structuredContent: result.structuredContent ?? null,
      text: JSON.parse(result.content.map((block) => block.text).join('')),
    });
  }
  const protocol = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null;
  await client.close();
  process.stdout.write(JSON.stringify({ protocol, tools, results }));
}
