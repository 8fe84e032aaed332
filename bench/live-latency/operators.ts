import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { activities, gunzip, jsonLines } from 'millrace';
import { Arrivals, parsed } from './arrivals.js';

const [address, ...counts] = process.argv.slice(2);
const take = parsed(new Arrivals(counts));
const request = get(`${address}/`, { headers: { 'accept-encoding': 'gzip' } });
const [response] = (await once(request, 'response')) as [IncomingMessage];
const events = activities()(jsonLines({ separator: '\r\n' })(gunzip()(response)));
for await (const { items } of events.batches()) for (const { raw } of items) take(raw.toString());
