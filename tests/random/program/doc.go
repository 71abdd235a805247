// Package program describes small MPI programs that are generated, executed and
// judged: point-to-point operations of several ranks and threads, on several
// communicators, with derived datatypes and wildcards.
//
// A Case is one such program. Each rank has a list of operations per thread,
// and an epilogue that its first thread executes when all of them are through.
// Requests live in numbered slots of their rank. Every message has a number in
// its case; its payload begins with that number, so that whoever receives it
// knows what was received.
//
// # No deadlock, whatever matches what
//
// Every operation has a step. All operations of a case are ordered by their
// steps; an operation of one thread may have the step of one of another thread
// (both halves of a rendezvous), never of its own. The one invariant: an
// operation that waits, waits only for what is begun at its own step or
// earlier, in whatever way messages and receives are matched. By induction over
// the steps, every thread reaches its end. Case.Unsafe finds the operations
// that break the rule, Case.Weaken turns them into ones that don't wait:
//
//   - A receive with pattern p completes if there are more messages that match
//     p than other receives that could take them. Receives that the same thread
//     posts later can't: both would match, and the first is still pending
//     (MPI-4.0 section 3.5).
//   - A send completes if there are more receives posted that match it than
//     other messages that could take them. Messages that the same thread sends
//     later can't overtake it.
//
// What is not certain to complete is left to the epilogue. It waits for the
// receives that are certain once all ranks have begun all they begin, cancels
// the others, receives by wildcards as many messages as are missing of the
// number that was sent to this rank, which is known, and then waits for the
// sends, all of which are now received somewhere.
package program
