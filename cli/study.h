/* Study files for the commands that simulate. */
#ifndef KN_CLI_STUDY_H
#define KN_CLI_STUDY_H

#include "subject.h"

/* The study of subject->name (the file beside it, or itself when it is a .yaml file) and the path of the
 * model. */
kn_exit kn_study_find(kn_subject* subject, const kn_args* args, char** model_path);
void kn_study_settings(kn_subject* subject, const kn_args* args); /* options win over the file */
kn_exit kn_study_controller(kn_subject* subject, const kn_args* args);
kn_exit kn_study_start(kn_subject* subject, const kn_args* args); /* keyframe and initial values */

#endif
