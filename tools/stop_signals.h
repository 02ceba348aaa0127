/* stop_signals - long jobs end in order when they are told to: with a checkpoint. */
#ifndef SSM2D_TOOLS_STOP_SIGNALS_H
#define SSM2D_TOOLS_STOP_SIGNALS_H

/* From now on the first SIGINT, SIGTERM or SIGHUP requests a stop; a second one ends the program at
 * once. What is ignored from the start stays ignored: SIGHUP under nohup, SIGINT of jobs in the
 * background. Standard output that nobody reads any more, and a limit on the size of files, become
 * errors of the calls that meet them. */
void stop_signals_catch(void);
/* Whether a stop was requested; a hook of training, whose user is not used. */
int stop_requested(void *user);

#endif
