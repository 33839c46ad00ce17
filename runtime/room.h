/* Room: how much memory there is for this process. */
#ifndef FLOW_ROOM_H
#define FLOW_ROOM_H

#include <stddef.h>

/* Bytes that the machine has, or that a control group of this process allows, whichever is less. */
size_t room_of_machine(void);

#endif
