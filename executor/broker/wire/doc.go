// Package wire carries the requests of [broker.Broker] from a process without power over the host to one that has it.
//
// Both have one end of a pair of sockets that keep messages apart (SOCK_SEQPACKET). A request is one message and so is its answer: JSON
// of at most 64 KiB. Descriptors come with answers alone. [Client] asks, and implements [broker.Broker]. [Serve] answers, and trusts no message. The
// requests are a closed set of types. A message is taken in the one form in which this package writes it: unknown and repeated fields,
// other cases and orders, and trailing bytes are errors.
//
// The server refuses a request that it cannot read, and goes on. It ends the connection when the message itself is broken: when it is
// longer than a message may be, has a descriptor, or has the number of a request that is under way. Requests are carried out at the
// same time, so that a slow one holds up no other, and at most [UnderWay] at once: the next one waits in the socket.
package wire
