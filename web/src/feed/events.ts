// Server-sent events from the body of an answer. The browser's EventSource cannot send the header
// Authorization, and a token in the address would be logged.

export interface FeedEvent {
  name: string;
  id: string;
  data: string;
}

// Takes pieces of text as they arrive and returns the events that are complete.
export class EventParser {
  private rest = '';

  push(piece: string): FeedEvent[] {
    const parts = (this.rest + piece).split('\n\n');
    this.rest = parts.pop() ?? '';
    return parts.map(EventParser.parse).filter((event) => event.data !== '');
  }

  private static parse(block: string): FeedEvent {
    const event = {name: 'message', id: '', data: ''};
    for (const line of block.split('\n')) {
      if (line.startsWith('data: ')) event.data += line.slice(6);
      else if (line.startsWith('event: ')) event.name = line.slice(7);
      else if (line.startsWith('id: ')) event.id = line.slice(4);
    }
    return event;
  }
}
