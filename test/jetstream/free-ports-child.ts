import { freePorts } from './free-ports.js';

console.log(JSON.stringify(await freePorts(Number(process.argv[2]))));
process.stdin.resume();
